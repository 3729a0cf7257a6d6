/* { "does": "timeouts are numbers of milliseconds or durations; the default is a minute", "console": ["250 90000 60000"] } */
import http from 'k6/http';
export default function () {
  const of = (params) => http.get('http://h.test/', params).json('timeout_ms');
  console.log(of({ timeout: 250 }), of({ timeout: '1m30s' }), of());
}
