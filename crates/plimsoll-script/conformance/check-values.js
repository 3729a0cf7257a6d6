/* { "does": "checks take functions and plain values; the result tells whether all passed",
     "checks": {"a": [1, 0], "b": [0, 1], "c": [1, 0], "d": [0, 1]}, "console": ["false true true"] } */
import { check } from 'k6';
export default function () {
  const some = check('v', { a: (v) => v === 'v', b: 0, c: 'text', d: null });
  console.log(some, check(1, {}), check(1, {}, { t: 'x' }));
}
