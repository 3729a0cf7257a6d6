/* { "own_context": "promises", "does": "the check of k6-utils waits for promises", "checks": {"later": [1, 0], "now": [1, 0], "no": [0, 1]}, "console": ["false"] } */
import { check } from 'https://jslib.k6.io/k6-utils/1.5.0/index.js';
export default async function () {
  const passed = await check(5, { later: async (v) => v === 5, now: (v) => v === 5, no: async () => false });
  console.log(passed);
}
