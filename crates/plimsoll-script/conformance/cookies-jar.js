/* { "does": "the jar of the virtual user can be read and written", "k6": "k6 does not delete a cookie that was set with a path", "console": ["{\"a\":[\"1\"]}", "{\"b\":\"2\",\"a\":\"1\"}", "{\"a\":\"1\"}", "{}"] } */
import http from 'k6/http';
export default function () {
  const url = 'http://h.test/cookies';
  const jar = http.cookieJar();
  http.get('http://h.test/cookies/set?a=1');
  console.log(JSON.stringify(jar.cookiesForURL(url)));
  jar.set(url, 'b', '2', { path: '/cookies', max_age: 600 });
  console.log(JSON.stringify(http.get(url).json(), ['b', 'a']));
  jar.delete(url, 'b');
  console.log(http.get(url).body);
  jar.clear(url);
  console.log(http.get(url).body);
}
