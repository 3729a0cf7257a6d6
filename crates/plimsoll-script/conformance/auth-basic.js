/* { "does": "user and password of the URL become basic authentication and do not show in it", "k6": "k6 shows the password in res.url", "console": ["200 401 http://h.test/basic-auth/u/p%40"] } */
import http from 'k6/http';
export default function () {
  const good = http.get('http://u:p%40@h.test/basic-auth/u/p@');
  const bad = http.get('http://h.test/basic-auth/u/p');
  console.log(good.status, bad.status, good.url.replace('@', '%40'));
}
