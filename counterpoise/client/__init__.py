"""The HTTP client: `Client` has a method for every route."""

from counterpoise.client.client import Client as Client
from counterpoise.client.study_requests import CreatedStudy as CreatedStudy
