/* { "does": "in setup there is no scenario", "exception": "exec.scenario", "console": [] } */
import exec from 'k6/execution';
export function setup() { return exec.scenario.name; }
export default function () {
  return;
}
