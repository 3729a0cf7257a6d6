/* { "does": "no answer in time is status 0 with code 1050", "warnings": ["request timeout"], "console": ["0 1050"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://slow.test/');
  console.log(res.status, res.error_code);
}
