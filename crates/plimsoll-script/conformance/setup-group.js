/* { "does": "setup and teardown have groups of their own",
     "tags": {"http_reqs": [{"group": "::setup", "scenario": null}, {"group": "", "scenario": "default"},
              {"group": "::teardown"}]} } */
import http from 'k6/http';
export function setup() { http.get('http://h.test/'); }
export default function () { http.get('http://h.test/'); }
export function teardown() { http.get('http://h.test/'); }
