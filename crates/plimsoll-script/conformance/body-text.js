/* { "does": "a text body goes as it is, without a content type", "console": ["raw undefined"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', 'raw').json();
  console.log(seen.body, seen.headers['content-type']);
}
