/* { "does": "json() of a failed request throws and says why", "warnings": ["refused"], "exception": "the body is null" } */
import http from 'k6/http';
export default function () {
  http.get('http://refused.test/').json();
}
