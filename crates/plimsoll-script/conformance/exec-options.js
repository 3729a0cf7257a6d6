/* { "does": "exec.test.options shows the settled options", "settings": {"options_json": "{\"vus\": 3}"}, "console": ["3"] } */
import exec from 'k6/execution';
export default function () {
  console.log(exec.test.options.vus);
}
