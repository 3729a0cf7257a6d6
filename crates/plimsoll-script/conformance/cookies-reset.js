/* { "does": "each iteration starts without cookies", "iterations": 2, "console": ["{}", "{}"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/cookies').body);
  http.get('http://h.test/cookies/set?a=1');
}
