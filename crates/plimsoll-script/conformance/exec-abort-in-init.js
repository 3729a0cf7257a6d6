/* { "does": "test.abort in the init code ends everything with exit code 108", "load_error": "enough", "exit": 108 } */
import exec from 'k6/execution';
exec.test.abort('enough');
export default function () {
  return;
}
