/* { "does": "URL and URLSearchParams are global", "k6": "k6 has no global URL", "console": ["https: h.test:8443 /a/b ?x=1 #f 1", "https://h.test:8443/c?x=2&y=a+b", "x=1&z=2 2 1,2"] } */
export default function () {
  const url = new URL('../a/b?x=1#f', 'https://h.test:8443/p/q');
  console.log(url.protocol, url.host, url.pathname, url.search, url.hash, url.searchParams.get('x'));
  url.pathname = '/c';
  url.hash = '';
  url.searchParams.set('x', 2);
  url.searchParams.append('y', 'a b');
  console.log(url.toString());
  const params = new URLSearchParams({ x: 1, z: 2 });
  console.log(String(params), params.get('z'), [...params].map(([, value]) => value).join());
}
