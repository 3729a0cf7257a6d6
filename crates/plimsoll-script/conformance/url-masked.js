/* { "does": "a warning shows no value of a query: it may be a secret", "k6": "k6 shows it", "requests": [], "warnings": ["GET \"http://127.0.0.1:1000000/?token=masked:6:1ec1c26b\": invalid URL \"http://127.0.0.1:1000000/?token=masked:"], "console": ["0 1020"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://127.0.0.1:1000000/?token=s3cret');
  console.log(res.status, res.error_code);
}
