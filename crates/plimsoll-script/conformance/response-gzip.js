/* { "does": "packed bodies are unpacked", "console": ["hello, gzip"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/gzip').body);
}
