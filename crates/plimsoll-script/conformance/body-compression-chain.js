/* { "does": "codings are applied in order", "console": ["deflate, gzip"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', 'the text', { compression: 'deflate, gzip' }).json();
  console.log(seen.headers['content-encoding']);
}
