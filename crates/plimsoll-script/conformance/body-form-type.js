/* { "does": "a content type of one's own wins over that of the form", "console": ["a=1 x/y"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', { a: 1 }, { headers: { 'Content-Type': 'x/y' } }).json();
  console.log(seen.body, seen.headers['content-type']);
}
