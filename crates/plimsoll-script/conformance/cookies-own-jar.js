/* { "does": "a jar of one's own is used only where it is named; null switches cookies off", "console": ["{\"own\":\"1\"} {} {}"] } */
import http from 'k6/http';
export default function () {
  const url = 'http://h.test/cookies';
  const jar = new http.CookieJar();
  jar.set(url, 'own', '1');
  console.log(http.get(url, { jar }).body, http.get(url).body, http.get(url, { jar: null }).body);
}
