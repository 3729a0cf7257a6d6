/* { "does": "a redirect to a host below the first takes secrets along, and what was left out once stays out", "console": ["secret a=1; b=2", "undefined undefined", "undefined undefined", "undefined undefined"] } */
import http from 'k6/http';
export default function () {
  const params = { headers: { Authorization: 'secret', Cookie: 'a=1; b=2' } };
  for (const way of ['shop.h.test', 'other.test', 'noth.test', 'other.test/to/h.test']) {
    const seen = http.get(`http://h.test/to/${way}/anything`, params).json('headers');
    console.log(seen.authorization, seen.cookie);
  }
}
