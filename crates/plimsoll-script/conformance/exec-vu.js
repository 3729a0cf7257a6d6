/* { "does": "exec.vu tells who runs", "iterations": 2, "console": ["1 1 0 0", "1 1 1 1"] } */
import exec from 'k6/execution';
export default function () {
  const { vu } = exec;
  console.log(vu.idInTest, vu.idInInstance, vu.iterationInInstance, vu.iterationInScenario);
}
