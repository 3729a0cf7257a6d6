// JSON and text work per iteration: 10 KB parsed, 1 KB built, 200 operations on strings, one GET.
import http from 'k6/http';
import { check } from 'k6';

const items = [];
for (let i = 0; i < 90; i += 1) {
  items.push({ id: i, name: `article number ${i}`, price: i * 1.25, tags: ['new', 'sale', 'blue'], stock: i % 7 });
}
const catalogue = JSON.stringify({ items, page: 1, of: 12, query: 'blue article' });

export default function () {
  const page = JSON.parse(catalogue);
  let key = '';
  for (let i = 0; i < 200; i += 1) {
    const item = page.items[i % page.items.length];
    key = `${item.name}-${i}`.toUpperCase().replace('NUMBER', 'NO').slice(0, 24);
  }
  const order = JSON.stringify({ key, lines: page.items.slice(0, 10) });
  const answer = http.get(`${__ENV.URL}?n=${order.length}`);
  check(answer, { 'status is 200': (r) => r.status === 200 });
}
