/* { "does": "a metric's own tags go beside those of the iteration",
     "tags": {"sold": [{"kind": "book", "group": "::shop"}, {"kind": null, "group": ""}]}, "metrics": {"sold": [2, 1]} } */
import { group } from 'k6';
import { Counter } from 'k6/metrics';
const sold = new Counter('sold');
export default function () {
  group('shop', () => sold.add(2, { kind: 'book' }));
  sold.add(1);
}
