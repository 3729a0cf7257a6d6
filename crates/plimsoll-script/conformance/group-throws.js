/* { "does": "after an exception in a group the outer group is back",
     "tags": {"http_reqs": [{"group": ""}]}, "console": ["x"] } */
import http from 'k6/http';
import { group } from 'k6';
export default function () {
  try { group('g', () => { throw new Error('x'); }); } catch (e) { console.log(e.message); }
  http.get('http://h.test/');
}
