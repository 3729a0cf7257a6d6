/* { "does": "a check that throws counts as failed and the exception goes on",
     "checks": {"throws": [0, 1]}, "exception": "Error: in the check" } */
import { check } from 'k6';
export default function () {
  check(1, { throws: () => { throw new Error('in the check'); }, never: () => true });
}
