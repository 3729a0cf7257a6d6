/* { "does": "cookies end with their time", "console": ["{\"a\":\"1\"}", "{}"] } */
import { sleep } from 'k6';
import http from 'k6/http';
export default function () {
  const url = 'http://h.test/cookies';
  http.cookieJar().set(url, 'a', '1', { max_age: 5 });
  console.log(http.get(url).body);
  sleep(6);
  console.log(http.get(url).body);
}
