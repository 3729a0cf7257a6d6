/* { "does": "cookies of one request go besides those of the jar or replace them", "console": ["x=2; a=1", "a=9", "a=1"] } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/cookies/set?a=1');
  const sent = (cookies) => http.get('http://h.test/', { cookies }).json('headers').cookie;
  console.log(sent({ x: 2 }));
  console.log(sent({ a: { value: '9', replace: true } }));
  console.log(sent());
}
