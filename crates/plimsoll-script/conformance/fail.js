/* { "does": "fail throws its message and can be caught", "exception": "final", "console": ["first"] } */
import { fail } from 'k6';
export default function () {
  try { fail('first'); } catch (e) { console.log(e.message || e); }
  fail('final');
}
