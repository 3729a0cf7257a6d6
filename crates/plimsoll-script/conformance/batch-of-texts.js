/* { "does": "batch takes addresses as texts and answers in their order", "console": ["404 200 500 3"] } */
import http from 'k6/http';
export default function () {
  const all = http.batch(['http://h.test/status/404', 'http://h.test/status/200', ['GET', 'http://h.test/status/500']]);
  console.log(all[0].status, all[1].status, all[2].status, all.length);
}
