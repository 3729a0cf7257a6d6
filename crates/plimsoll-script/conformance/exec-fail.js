/* { "does": "test.fail marks the test and goes on", "failed": ["wrong"], "console": ["after"] } */
import exec from 'k6/execution';
export default function () {
  exec.test.fail('wrong');
  console.log('after');
}
