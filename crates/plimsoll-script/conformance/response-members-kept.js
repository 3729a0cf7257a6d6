/* { "does": "members are made once and may be changed", "k6": "k6 makes headers and timings anew at every look", "console": ["true changed"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/json');
  const same = res.headers === res.headers && res.timings === res.timings;
  res.body.length;
  res.body = 'changed';
  console.log(same, res.body);
}
