/* { "does": "GET warns about further arguments and leaves them out", "warnings": ["further arguments"], "console": ["null"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/a', {}, 'body');
  console.log(res.json('body'));
}
