/* { "does": "cookies set on a redirect are sent to where it leads", "console": ["{\"s\":\"1\"}"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/cookies/set-and-go?s=1').body);
}
