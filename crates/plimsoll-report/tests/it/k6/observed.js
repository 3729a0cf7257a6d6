import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const wait = new Trend('custom_wait', true);
const sizes = new Trend('sizes');
const logins = new Counter('logins');
const right = new Rate('right');
const depth = new Gauge('depth');
export const options = {
  vus: 1,
  duration: '1200ms',
  thresholds: {
    http_req_duration: ['p(95)<500', 'avg<0.001'],
    'http_req_duration{group:::shop}': ['max<1000'],
    checks: ['rate>0.9'],
    logins: ['count>1'],
  },
};
export function setup() { return { token: 'abc' }; }
export default function () {
  const home = http.get('http://127.0.0.1:18765/');
  check(home, { 'status is 200': (r) => r.status === 200, 'has body': (r) => r.body.length > 1e5 });
  group('shop', () => {
    const cart = http.get('http://127.0.0.1:18765/cart');
    check(cart, { found: (r) => r.status === 200 });
    group('pay', () => check(1, { paid: () => true }));
  });
  wait.add(1234.5 + __ITER * 17.3);
  sizes.add(1500);
  sizes.add(3.25);
  logins.add(1);
  right.add(__ITER % 2);
  depth.add(__ITER);
  sleep(0.45);
}
