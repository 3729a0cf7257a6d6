/* { "does": "no parameters may be said as null or undefined", "console": ["200 200 200"] } */
import http from 'k6/http';
export default function () {
  console.log(http.get('http://h.test/', null).status, http.get('http://h.test/', undefined).status, http.post('http://h.test/', null, null).status);
}
