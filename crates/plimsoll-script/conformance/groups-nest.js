/* { "does": "groups nest, give back what their function returns and are measured",
     "tags": {"group_duration": [{"group": "::outer::inner"}, {"group": "::outer"}],
              "http_reqs": [{"group": "::outer::inner"}, {"group": "::outer"}, {"group": ""}]},
     "metrics": {"group_duration": [10, 20]}, "console": ["42"] } */
import http from 'k6/http';
import { group } from 'k6';
export default function () {
  const got = group('outer', () => {
    const inner = group('inner', () => { http.get('http://h.test/'); return 42; });
    http.get('http://h.test/');
    return inner;
  });
  http.get('http://h.test/');
  console.log(got);
}
