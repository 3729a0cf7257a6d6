/* { "does": "a body that cannot be unpacked is an error with code 1701", "warnings": ["cannot decompress"], "console": ["0 1701"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/broken-gzip');
  console.log(res.status, res.error_code);
}
