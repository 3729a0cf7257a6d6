/* { "does": "a callback must come from expectedStatuses", "exception": "http.expectedStatuses" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/', { responseCallback: () => true });
}
