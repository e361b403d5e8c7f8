"""The app: everything that needs Streamlit."""
