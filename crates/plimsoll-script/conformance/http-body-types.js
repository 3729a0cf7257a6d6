/* { "does": "texts and bytes go as they are, without a content type of their own", "console": ["text undefined", "ab undefined", "{\"a\":1} application/json"] } */
import http from 'k6/http';
export default function () {
  const show = (body, headers) => {
    const seen = http.post('http://h.test/post', body, { headers }).json();
    console.log(seen.body, seen.headers['content-type']);
  };
  show('text');
  show(new Uint8Array([97, 98]).buffer);
  show(JSON.stringify({ a: 1 }), { 'Content-Type': 'application/json' });
}
