/* { "does": "exec.vu.metrics.tags changes the tags of what follows, until the iteration ends", "iterations": 2, "tags": {"checks": [{"step": null}, {"step": "one"}, {"step": null}, {"step": null}, {"step": "one"}, {"step": null}]} } */
import exec from 'k6/execution';
import { check } from 'k6';
export default function () {
  check(1, { a: true });
  exec.vu.metrics.tags.step = 'one';
  check(1, { a: true });
  delete exec.vu.metrics.tags.step;
  check(1, { a: true });
}
