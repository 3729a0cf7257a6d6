/* { "does": "a body that is no JSON throws", "exception": "cannot parse the body as JSON" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/text').json();
}
