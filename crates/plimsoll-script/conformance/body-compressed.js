/* { "does": "compression packs the body and says so", "console": ["the text gzip"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', 'the text', { compression: 'gzip' }).json();
  console.log(seen.body, seen.headers['content-encoding']);
}
