/* { "does": "cookies of one host are not sent to another", "console": ["{\"a\":\"1\"} {}"] } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/cookies/set?a=1');
  console.log(http.get('http://h.test/cookies').body, http.get('http://other.test/cookies').body);
}
