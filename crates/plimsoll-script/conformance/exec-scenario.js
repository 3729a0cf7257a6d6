/* { "does": "exec.scenario tells what runs", "k6": "a time", "console": ["default per-vu-iterations 1700000000000 0.25 0 0"] } */
import { scenario } from 'k6/execution';
export default function () {
  console.log(scenario.name, scenario.executor, scenario.startTime, scenario.progress, scenario.iterationInInstance, scenario.iterationInTest);
}
