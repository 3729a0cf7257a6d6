/* { "does": "cookies that a server sets go back to it", "console": ["{\"a\":\"1\",\"b\":\"2\"}", "1 true / 2"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/cookies/set?a=1&b=2');
  console.log(http.get('http://h.test/cookies').body);
  console.log(res.cookies.a[0].value, res.cookies.a[0].http_only, res.cookies.a[0].path, res.cookies.b[0].value);
}
