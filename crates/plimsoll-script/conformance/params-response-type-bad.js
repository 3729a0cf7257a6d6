/* { "does": "an unknown response type is refused", "exception": "responseType \"json\"" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/', { responseType: 'json' });
}
