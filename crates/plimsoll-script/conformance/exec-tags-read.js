/* { "does": "tags can be read one by one and as a whole", "k6": "k6 gives the keys in any order", "console": ["default {\"group\":\"\",\"scenario\":\"default\",\"x\":\"1\"}"] } */
import exec from 'k6/execution';
export default function () {
  exec.vu.tags.x = 1;
  console.log(exec.vu.metrics.tags.scenario, JSON.stringify(exec.vu.metrics.tags));
}
