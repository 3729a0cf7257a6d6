/* { "does": "a tag must be a plain value", "exception": "must be text" } */
import exec from 'k6/execution';
export default function () {
  exec.vu.metrics.tags.x = {};
}
