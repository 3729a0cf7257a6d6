/* { "does": "noCookiesReset keeps them", "settings": {"keep_cookies": true}, "iterations": 2, "console": ["{}", "{\"a\":\"1\"}"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/cookies').body);
  http.get('http://h.test/cookies/set?a=1');
}
