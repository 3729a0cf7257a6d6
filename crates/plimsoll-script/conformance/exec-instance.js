/* { "does": "exec.instance tells how the test goes; time is in milliseconds", "k6": "a time", "console": ["1500 7 1 2 3"] } */
import exec from 'k6/execution';
import { sleep } from 'k6';
export default function () {
  sleep(1.5);
  const { instance } = exec;
  console.log(instance.currentTestRunDuration, instance.iterationsCompleted, instance.iterationsInterrupted, instance.vusActive, instance.vusInitialized);
}
